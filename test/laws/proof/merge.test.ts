import { describe, expect, test } from 'vitest'
import { type Bool, init, killThreads } from 'z3-solver'
import { actions } from '../../../server/src/rails/authz/actions.ts'
import { permissionsOf } from '../../../server/src/rails/authz/catalogue.ts'
import { decide } from '../../../server/src/rails/authz/decide.ts'
import { fixture } from '../../fixture.ts'
import { type Logic, lanes } from './logic.ts'
import { askedBy, axioms, merge, type Said, type Steps, saidNames, soundSteps } from './merge.ts'
import { askOf, type MergeLaw, mergeLaws } from './merge-laws.ts'
import { goThrough, questionNames, type Sheet } from './merge-worlds.ts'

const api = fixture(init, ({ em }) => killThreads(em))

/** A world in which the law does not hold, as the questions that are yes in it; null where there is none. */
const counterexample = async ({ holds }: MergeLaw, steps: Steps): Promise<ReadonlySet<string> | null> => {
  const { Solver, Bool, And, Or, Not } = new api.Context('laws')
  const logic: Logic<Bool<'laws'>> = {
    ...{ yes: Bool.val(true), no: Bool.val(false) },
    ...{ and: (...each) => And(...each), or: (...each) => Or(...each), not: (one) => Not(one) },
  }
  const questions = new Map<string, Bool<'laws'>>()
  const asked = askedBy((name) => {
    const question = Bool.const(name)
    questions.set(name, question)
    return question
  })
  const solver = new Solver()
  solver.add(axioms(logic, asked), Not(holds(logic, asked, askOf(logic, steps))))
  const found = await solver.check()
  if (found === 'unknown') throw new Error('the prover does not know')
  if (found === 'unsat') return null
  const model = solver.model()
  return new Set([...questions].filter(([, question]) => `${model.eval(question, true)}` === 'true').map(([name]) => name))
}

/** The same judged without the prover. */
const isBroken = ({ holds }: MergeLaw, steps: Steps, yes: ReadonlySet<string>): boolean => {
  const asked = askedBy((name) => (yes.has(name) ? lanes.yes : lanes.no))
  return axioms(lanes, asked) === lanes.yes && holds(lanes, asked, askOf(lanes, steps)) === lanes.no
}
/** Without whatever is not needed to break the law. */
const smallest = (law: MergeLaw, steps: Steps, found: ReadonlySet<string>): ReadonlySet<string> => {
  let left = found
  for (const name of found) {
    const fewer = new Set([...left].filter((each) => each !== name))
    if (isBroken(law, steps, fewer)) left = fewer
  }
  return left
}

describe('the laws of the merge, proved', () => {
  for (const [letter, law] of Object.entries(mergeLaws)) {
    test(`DE-04 DE-13 D2(${letter}) ${law.says}: there is no world in which it does not hold`, async () => {
      const found = await counterexample(law, soundSteps)
      expect(found && [...smallest(law, soundSteps, found)]).toBeNull()
    })

    test(`DE-04 DE-13 D2(${letter}) does not hold of a merge that ${law.wrong}`, async () => {
      const found = await counterexample(law, law.broken)
      expect(found).not.toBeNull()
      expect(isBroken(law, law.broken, found!)).toBe(true)
      expect(isBroken(law, soundSteps, found!)).toBe(false)
      console.log(`D2(${letter}), broken by a merge that ${law.wrong}: ${[...smallest(law, law.broken, found!)].join(', ')}`)
    })
  }

  test('DE-04 D2 every law of the list is there but that of names', () => {
    expect(Object.keys(mergeLaws).join('')).toBe('abcdefhijkl')
  })
})

describe('the formula and the engine', () => {
  const differs = (one: Said<number>, other: Said<number>) => saidNames.reduce((all, name) => all | (one[name] ^ other[name]), 0)
  const told = ({ asked, said }: Sheet, model: Said<number>, different: number) => {
    const lane = 31 - Math.clz32(different & -different)
    const isYes = (word: number) => ((word >> lane) & 1) === 1
    const words: number[] = []
    const collect = (part: unknown): void => {
      if (typeof part === 'number') words.push(part)
      else for (const each of Object.values(part as object)) collect(each)
    }
    collect(asked)
    const wordsOf = (answer: Said<number>) => saidNames.filter((name) => isYes(answer[name])).join(' ')
    const yes = questionNames.filter((_name, at) => isYes(words[at]!))
    return `the engine says ${wordsOf(said)}, the formula ${wordsOf(model)}: ${yes.join(', ')}`
  }

  test('DE-04 DE-13 D2 say the same, reason, scope and source, in every world that is gone through; a broken formula does not', () => {
    const differences: string[] = []
    const undetected = new Set(Object.entries(mergeLaws))
    const seen = new Map<string, number>()
    let beyondAxioms = 0
    const worlds = goThrough(decide, (sheet) => {
      const { asked, said, used } = sheet
      beyondAxioms |= ~axioms(lanes, asked) & used
      const model = merge(lanes, asked)
      const different = differs(model, said) & used
      if (different !== 0 && differences.length < 5) differences.push(told(sheet, model, different))
      for (const each of undetected) if ((differs(merge(lanes, asked, each[1].broken), said) & used) !== 0) undetected.delete(each)
      for (const name of saidNames) {
        let left = said[name]
        let count = 0
        for (; left !== 0; left &= left - 1) count += 1
        seen.set(name, (seen.get(name) ?? 0) + count)
      }
    })
    expect(differences).toEqual([])
    expect(beyondAxioms).toBe(0)
    expect([...undetected].map(([letter]) => letter)).toEqual([])
    console.log(`${worlds} worlds: ${[...seen].map(([name, count]) => `${name} ${count}`).join(', ')}`)
    expect(worlds).toBeGreaterThan(1_000_000)
    expect(Math.min(...seen.values())).toBeGreaterThan(1000)
  })

  test('DE-04 D2(j) the higher roles have all that the lower have', () => {
    const ordered = [
      ['tenant_owner', 'tenant_admin', 'tenant_member'],
      ['project_owner', 'project_admin', 'project_member', 'project_viewer'],
    ] as const
    const lacking = ordered.flatMap((roles) =>
      roles.slice(1).flatMap((lower, at) => [...permissionsOf(lower)].filter((key) => !permissionsOf(roles[at]!).has(key))),
    )
    expect(lacking).toEqual([])
    expect(Object.keys(actions).length).toBeGreaterThan(50)
  })
})
