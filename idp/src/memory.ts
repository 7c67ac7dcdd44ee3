import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

type Kept = { payload: AdapterPayload; ends_at: number }

/** Sessions, codes and refresh tokens live as long as this process: whoever restarts it signs in again. */
export const memory = (): AdapterFactory => {
  const rooms = new Map<string, Map<string, Kept>>()
  const sweep = () => {
    for (const room of rooms.values()) for (const [id, { ends_at }] of room) if (ends_at <= Date.now()) room.delete(id)
  }
  setInterval(sweep, 60_000).unref()

  return (name): Adapter => {
    const room = rooms.get(name) ?? new Map<string, Kept>()
    rooms.set(name, room)
    const find = async (id: string) => {
      const kept = room.get(id)
      return kept && kept.ends_at > Date.now() ? kept.payload : undefined
    }
    const findWhere = async (field: 'uid' | 'userCode', value: string) =>
      [...room.values()].find(({ payload, ends_at }) => payload[field] === value && ends_at > Date.now())?.payload
    return {
      find,
      findByUid: (uid) => findWhere('uid', uid),
      findByUserCode: (userCode) => findWhere('userCode', userCode),
      upsert: async (id, payload, expiresIn) => {
        room.set(id, { payload, ends_at: expiresIn ? Date.now() + expiresIn * 1000 : Number.POSITIVE_INFINITY })
      },
      consume: async (id) => {
        const payload = await find(id)
        if (payload) payload.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id) => {
        room.delete(id)
      },
      revokeByGrantId: async (grantId) => {
        for (const [id, { payload }] of room) if (payload.grantId === grantId) room.delete(id)
      },
    }
  }
}
