import { uuidPattern } from './shapes.ts'

/** What each pattern of a request asks for, said to people. A pattern that is missing here fails a test. */
export const patternWords: Readonly<Record<string, string>> = {
  [uuidPattern]: 'must be an id (a UUID)',
  '^[^\\S\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$': 'must hold something visible and no control character',
  '^[A-Za-z0-9_-]+$': 'must consist of letters, digits, - and _ (base64url without padding)',
  '^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$': 'must consist of lower-case letters, digits and hyphens, with no hyphen at either end',
  '^[A-Za-z0-9._:-]+$': 'must consist of letters, digits and . _ : -',
  '^[A-Za-z0-9._:/-]+$': 'must consist of letters, digits and . _ : / -',
  '^[a-z][a-z0-9_]*$': 'must consist of lower-case letters, digits and _, and begin with a letter',
  '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$': 'must be an action such as project.member.read: lower-case words with dots between them',
  '^[^\\S\\p{C}]*[^\\s\\p{C}@<>()\\[\\]\\\\,;:"]+@[^\\s\\p{C}@<>()\\[\\]\\\\,;:"]+[^\\S\\p{C}]*$':
    'must be one bare e-mail address, such as name@example.com',
  '^[a-z][a-z0-9_-]*$': 'must consist of lower-case letters, digits, _ and -, and begin with a letter',
  '^[A-Za-z0-9._-]{1,100}$': 'must be 1 to 100 letters, digits and . _ -',
  '^SHA256:[A-Za-z0-9+/]{43}$': 'must be a fingerprint as ssh-keygen -l prints it: SHA256: and 43 characters of base64',
  '^[0-9A-Fa-f.:]{2,45}$': 'must be an IPv4 or IPv6 address',
  '^[a-z_]{1,63}$': 'must be 1 to 63 lower-case letters and _',
  '^[A-Za-z0-9_-]{43}$': 'must be 43 letters, digits, - and _',
  '^[A-Za-z0-9.+-]{1,63}$': 'must be a version: 1 to 63 letters, digits and . + -',
  '^[a-z][a-z0-9_.-]*$': 'must consist of lower-case letters, digits and _ . -, and begin with a letter',
  '^[a-z][a-z_]*(?:\\.[a-z][a-z_]*)*(?:\\.\\*)?$': 'must be an action such as storage.read, or a group such as storage.*',
  '^[!-~]+$': 'must consist of printable ASCII without blanks',
  '^[0-9a-fA-F.:]+/[0-9]{1,3}$': 'must be a CIDR range such as 10.0.0.0/8',
  '^[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*$': 'must be the IANA name of a time zone, such as Europe/Berlin',
  '^[a-z][a-z0-9_.]*$': 'must be a policy key such as tenancy.max_projects: lower-case words with dots between them',
  '^[0-9a-f]{64}$': 'must be 64 hexadecimal digits in lower case',
  '^[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?$': 'must consist of lower-case letters, digits and _ . -, and begin and end with a letter or digit',
  '^/dev(?:/[A-Za-z0-9][A-Za-z0-9._:-]{0,63}){1,6}$': 'must be the path of a device node below /dev, such as /dev/nvidia0',
  '^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$': 'must be a host name, or an address without brackets',
  '^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)) [A-Za-z0-9+/]{40,2000}={0,2}$':
    'must be the type of a host key and the key in base64, with one blank between them',
  '^[a-z][a-z0-9_.]{0,62}$': 'must be 1 to 63 lower-case letters, digits, _ and dots, and begin with a letter',
  '^[ -~]{1,100}$': 'must be 1 to 100 characters of printable ASCII',
  '^[A-Za-z0-9_-]{8,128}$': 'must be 8 to 128 letters, digits, - and _',
}
