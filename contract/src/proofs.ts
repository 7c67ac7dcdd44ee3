/** By which algorithms the holder of a token may prove that he is its holder (DPoP). */
export const proofAlgorithms = ['ES256', 'EdDSA', 'Ed25519'] as const

/** By which a client may sign that it is the client (`private_key_jwt`). */
export const assertionAlgorithms = [...proofAlgorithms, 'RS256'] as const
