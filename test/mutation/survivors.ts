interface Survivors {
  readonly why: string
  /** `file: what stood there => what the mutant says`, each on one line, and as often as there are such mutants in the file. */
  readonly mutants: readonly string[]
}

const rfc3339 = String.raw`/^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/`
const openEnded = (pattern: string) => `${pattern.slice(0, -2)}/`

/** Mutants that no test fails for, with the reason why that is so. */
export const survivors: readonly Survivors[] = [
  {
    why: 'A list of scopes serves to compare their places in it; what is not in it comes before the first, as the first does.',
    mutants: [`constraint: 'global' => ""`, `effective-value: 'global' => ""`, `decide: 'project' => ""`],
  },
  {
    why: 'No two have the same key, or the same id, where they are put in order.',
    mutants: ['constraint: a.key < b.key => a.key <= b.key', 'decide: a.id < b.id => a.id <= b.id'],
  },
  {
    why: 'A short cut or a memory: without it the answer is the same and takes longer.',
    mutants: [
      'decide: input.elevations.length === 0 => false',
      'decide: constraints.length === 0 => false',
      'condition: tests.length === 1 => false',
      'condition: judges.set(condition, judge) => ;',
      'facts: constraints.length === 0 => false',
      'local-times: instant.getTime() / 1000 => instant.getTime() * 1000',
      'local-times: clock.second !== second => true',
      'facts: relations.length === 0 => false',
      'read-policy: worked.set(chain, known) => ;',
    ],
  },
  {
    why: 'A name in capitals is one name as well.',
    mutants: ['local-times: name.toLowerCase() => name.toUpperCase()'],
  },
  {
    why: 'The step after it says the same: the most specific one is what is left where nothing is the stricter of two.',
    mutants: [`effective-value: direction === 'most_specific' => false`, `effective-value: 'most_specific' => ""`],
  },
  {
    why: 'The step after it refuses the same: no date is read from it, and no list takes such a range, or what is no number is not finite.',
    mutants: [
      'local-times: day === undefined => false',
      `local-times: ${rfc3339} => ${openEnded(rfc3339)}`,
      `condition: 'ipv4' => ""`,
      `policy-value: typeof value === 'number' => true`,
      `policy-value: typeof value === 'number' && Number.isFinite(value) => typeof value === 'number' || Number.isFinite(value)`,
    ],
  },
  {
    why: 'An IPv4 address has one spelling, and Node spells a mapped one with nothing before or behind it.',
    mutants: [
      `condition: family === 'ipv4' => false`,
      `condition: 'ipv4' => ""`,
      String.raw`condition: /^::ffff:(\d+\.\d+\.\d+\.\d+)$/ => /::ffff:(\d+\.\d+\.\d+\.\d+)$/`,
      String.raw`condition: /^::ffff:(\d+\.\d+\.\d+\.\d+)$/ => /^::ffff:(\d+\.\d+\.\d+\.\d+)/`,
    ],
  },
  {
    why: 'An instant in a place where nothing ends: every instant says the same.',
    mutants: Array.from({ length: 3 }, () => `standing: '' => "Stryker was here!"`),
  },
  {
    why: 'The word that the mutant puts among the roles of the platform is no role, and gives nothing.',
    mutants: Array.from({ length: 2 }, () => 'standing: [] => ["Stryker was here"]'),
  },
  {
    why: 'It stands there for the types alone and never comes to be used.',
    mutants: [
      `local-times: '' => "Stryker was here!"`,
      `condition: '' => "Stryker was here!"`,
      `policy-value: [] => ["Stryker was here"]`,
      `authorize: 'decision' => ""`,
      `authorize: 'platform' => ""`,
    ],
  },
]
