import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import type { Accounts } from './accounts.ts'
import { pagePolicy, sentencePage, signInPage } from './pages.ts'

const formOf = async (request: IncomingMessage): Promise<URLSearchParams | undefined> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > 4096) return undefined
  }
  return new URLSearchParams(text)
}

const send = (response: ServerResponse, status: number, html: string, nextOrigin?: string) => {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': pagePolicy(nextOrigin),
  })
  response.end(html)
}

/** The sign-in form, between the authorization request and its answer. */
export const interactions = (provider: Provider, accounts: Accounts) => async (request: IncomingMessage, response: ServerResponse) => {
  // Found by its own cookie, which is bound to this path: somebody else's link leads nowhere.
  const interaction = await provider.interactionDetails(request, response).catch(() => undefined)
  if (!interaction) return send(response, 400, sentencePage('This sign-in is over', 'Go back to where you came from and start again.'))
  if (interaction.prompt.name !== 'login') return provider.interactionFinished(request, response, { consent: {} })

  const client = await provider.Client.find(String(interaction.params.client_id))
  const form = { action: `/interaction/${interaction.uid}`, client: client?.clientName ?? 'Gatehouse' }
  const nextOrigin = URL.parse(String(interaction.params.redirect_uri))?.origin
  if (request.method === 'GET') {
    const hint = interaction.params.login_hint
    return send(response, 200, signInPage({ ...form, ...(typeof hint === 'string' && { username: hint.slice(0, 100) }) }), nextOrigin)
  }
  if (request.method !== 'POST') return send(response, 405, sentencePage('This did not work', 'The form is sent with POST.'))

  const filled = await formOf(request)
  const username = filled?.get('username') ?? ''
  const account = accounts.signIn(username, filled?.get('password'))
  if (!account) return send(response, 401, signInPage({ ...form, username: username.slice(0, 100), failed: true }), nextOrigin)
  return provider.interactionFinished(request, response, { login: { accountId: account.sub } }, { mergeWithLastSubmission: false })
}
