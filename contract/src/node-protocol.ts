/**
 * Which version of the nodes' protocol a side speaks: a header of each request of an agent and of each answer of the nodes' door. A server of
 * version 1 refuses every member that it does not know, so an agent must know what the server speaks before it sends a new one; a header
 * that nobody knows is left alone. Without the header a side speaks version 1.
 */
export const node_protocol_header = 'gatehouse-node-protocol'

/** What this code speaks. 2: descriptions of nodes, stuck steps, leftovers in receipts, devices and bounds in tasks, keys that verify. */
export const node_protocol = 2

/** What both sides speak, from what the other one said; undefined: what it said is no version. */
export const nodeProtocolOf = (said: string | readonly string[] | undefined): number | undefined => {
  if (said === undefined) return 1
  if (typeof said !== 'string' || !/^[1-9][0-9]{0,3}$/.test(said)) return undefined
  return Math.min(Number(said), node_protocol)
}
