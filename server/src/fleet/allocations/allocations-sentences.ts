/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const allocationsSentences = {
  done: {
    'allocation.access.resume': 'let those in again who could enter before the {because} rested',
    'allocation.access.suspend': 'let nobody in while the {because} rests',
    'allocation.activate': 'opened the allocation',
    'allocation.ask_again': 'asked the node again for what it owes',
    'allocation.clear': 'put away what was left of the failed allocation',
    'allocation.create': 'asked for an allocation of {gpus} {sku} in {region}',
    'allocation.devices.give': 'gave the allocation the GPUs {device_indexes} of its node',
    'allocation.fail': 'could not provide the allocation ({failure})',
    'allocation.leftovers': 'found that the account of the allocation had left something beyond its sessions ({kinds})',
    'allocation.owner.end': 'ended the ownership of {user_id} with the membership',
    'allocation.owner.name': 'named {user_id} as the owner',
    'allocation.provision': 'placed the allocation on the node {node_id}',
    'allocation.release': 'gave the allocation back',
    'allocation.release_fail': 'could not put the allocation away ({failure})',
    'allocation.released': 'put the allocation away, and its place is free',
    'allocation.ssh_keys.end': 'took keys of its own from the allocation ({cause})',
    'allocation.ssh_keys.install': 'made the account of the allocation, and was sent its first set of keys',
    'allocation.ssh_keys.not_applied': 'could not apply set {generation} of keys ({failure})',
    'allocation.ssh_keys.replace': 'replaced the keys of the allocation itself',
    'allocation.ssh_keys.restore': 'found the keys of the allocation changed on the node, and put them right',
    'allocation.terms.send':
      'told the node what the allocation’s sessions may take up and which kinds of keys open it ({required_key_kinds})',
  },
} as const
