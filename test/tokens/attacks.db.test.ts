import { beforeAll, describe, expect, test } from 'vitest'
import { attacks, trialFixture } from './trial.ts'

const { live, builds } = trialFixture()

describe('the product as it is', () => {
  let url: string
  beforeAll(async () => {
    url = await builds.serve([])
  })

  test.for(Object.entries(attacks))('%s: nothing is found', async ([, attack]) => {
    expect(await attack({ live, url, lineOf: builds.lineOf })).toEqual([])
  })
})
