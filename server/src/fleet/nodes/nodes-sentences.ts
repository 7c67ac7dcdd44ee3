/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const nodesSentences = {
  done: {
    'node.authority.create': 'made the authority that vouches for nodes',
    'node.certificate.renew': 'renewed the certificate of the node',
    'node.create': 'registered the node {name}',
    'node.describe': 'described its devices and its sshd',
    'node.drain': 'let nothing more be placed on the node {name}',
    'node.enrol': 'enrolled as the node',
    'node.enrol.repeat': 'asked once more for the certificate of its enrolment, and got the same',
    'node.enrolment.create': 'made a new enrolment token for the node {name}',
    'node.protocol_version': 'speaks version {to} of the nodes’ protocol, and spoke version {from} before',
    'node.retire': 'ended the identity of the node {name}',
    'node.step.report': 'told which of its steps are stuck',
    'node.step.stuck': 'has been at the step {step} for more than a minute, since {since}',
    'node.step.unstuck': 'is no longer stuck at the step {step}',
    'node.undrain': 'let the node {name} be placed on again',
  },
  refused: {
    'node.certificate.refuse': 'showed a certificate that is no node’s ({why})',
  },
} as const
