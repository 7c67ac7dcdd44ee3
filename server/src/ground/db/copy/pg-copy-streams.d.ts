// The library comes without types; these are the two of its functions that we call.
declare module 'pg-copy-streams' {
  export const to: (text: string) => import('node:stream').Readable & import('pg').Submittable
  export const from: (text: string) => import('node:stream').Writable & import('pg').Submittable & { readonly rowCount: number }
}
