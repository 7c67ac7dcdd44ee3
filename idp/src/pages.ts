import type { KoaContextWithOIDC } from 'oidc-provider'

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const safe = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character]!)

/** Chromium holds redirects after a form to `form-action` too, so the client's own origin has to be among the targets. */
export const pagePolicy = (nextOrigin?: string) =>
  `default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'${nextOrigin ? ` ${nextOrigin}` : ''}`

const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Gatehouse development</title>
  <link rel="stylesheet" href="/style.css">
</head>
<body>
  <main>
    <p class="brand">Gatehouse</p>
    <h1>${title}</h1>
    ${content}
    <p class="note">Development identity provider. Not for production.</p>
  </main>
</body>
</html>
`

export const signInPage = (form: { action: string; client: string; username?: string; failed?: boolean }) =>
  page(
    'Sign in',
    `<p>to continue to <strong>${safe(form.client)}</strong></p>
    ${form.failed ? '<p id="problem" class="problem" role="alert">Username or password is wrong.</p>' : ''}
    <form method="post" action="${safe(form.action)}">
      <label for="username">Username</label>
      <input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="100"
        value="${safe(form.username ?? '')}"${form.failed ? ' aria-describedby="problem" aria-invalid="true"' : ' autofocus'}>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required maxlength="200"
        ${form.failed ? 'aria-describedby="problem" aria-invalid="true" autofocus' : 'aria-describedby="hint"'}>
      <p id="hint" class="hint">The password of a seeded person is <code>&lt;username&gt;-gatehouse</code>.</p>
      <button type="submit">Sign in</button>
    </form>`,
  )

export const sentencePage = (title: string, sentence: string) => page(safe(title), `<p>${safe(sentence)}</p>`)

const show = (ctx: KoaContextWithOIDC, html: string, nextOrigin?: string) => {
  ctx.type = 'html'
  ctx.set('content-security-policy', pagePolicy(nextOrigin))
  ctx.body = html
}

export const problemPage = (ctx: KoaContextWithOIDC, sentence: string) => show(ctx, sentencePage('This did not work', sentence))

export const signedOutPage = (ctx: KoaContextWithOIDC) => show(ctx, sentencePage('Signed out', 'You can close this page.'))

/** `form` comes from the provider: an empty form with its id and the token against forged requests. */
export const logoutPage = (ctx: KoaContextWithOIDC, form: string) => {
  const next = ctx.oidc.params?.post_logout_redirect_uri
  show(
    ctx,
    page(
      'Sign out?',
      `${form}
    <button type="submit" form="op.logoutForm" value="yes" name="logout">Sign out</button>
    <button type="submit" form="op.logoutForm" class="quiet">Stay signed in</button>`,
    ),
    typeof next === 'string' ? URL.parse(next)?.origin : undefined,
  )
}

export const stylesheet = `:root { color-scheme: light dark; --ink: #1b2430; --soft: #56616f; --paper: #ffffff; --ground: #eef1f5; --line: #8a94a3; --accent: #1f5fbf; --bad: #a4161a }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ecf2; --soft: #a9b4c2; --paper: #1a212b; --ground: #10151c; --line: #6c7888; --accent: #8ab8ff; --bad: #ff9a9c }
}
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: min(24rem, calc(100vw - 2rem)); margin: 1rem; padding: 2rem; background: var(--paper); border-radius: .75rem; box-shadow: 0 1px 3px #0003, 0 8px 24px #0001 }
.brand { margin: 0; color: var(--accent); font-weight: 700; letter-spacing: .04em }
h1 { margin: .25rem 0 0; font-size: 1.6rem; line-height: 1.2 }
h1 + p { margin-top: .25rem; color: var(--soft) }
label { display: block; margin-top: 1rem; font-weight: 600 }
input { width: 100%; margin-top: .25rem; padding: .6rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--paper); color: var(--ink); font: inherit }
input[aria-invalid] { border-color: var(--bad) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button { width: 100%; margin-top: 1rem; padding: .7rem; border: 1px solid var(--accent); border-radius: .4rem; background: var(--accent); color: var(--paper); font: inherit; font-weight: 600; cursor: pointer }
button.quiet { background: transparent; color: var(--accent) }
.problem { padding: .5rem .75rem; border-left: 4px solid var(--bad); color: var(--bad); font-weight: 600 }
.hint, .note { color: var(--soft); font-size: .875rem }
.note { margin: 1.5rem 0 0 }
`
