import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node'

const clock = (ms: number): string => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`

/** One line for each finished file: how many of all files are done, since when, and what failed in it. Details of failures follow at the end. */
export default class Progress extends DefaultReporter {
  private files = 0
  private done = 0
  private began = 0

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.files = specifications.length
    this.began = performance.now()
    super.onTestRunStart(specifications)
  }

  protected override printTestModule(module: TestModule): void {
    const state = module.state()
    if (state === 'queued' || state === 'pending') return
    this.done += 1
    const tests = [...module.children.allTests()]
    const failed = tests.filter((test) => test.result().state === 'failed')
    const seconds = (module.diagnostic().duration / 1000).toFixed(1)
    const place = `${String(this.done).padStart(String(this.files).length)}/${this.files} ${clock(performance.now() - this.began)}`
    const mark = state === 'failed' ? '✗' : '✓'
    this.log(`[${place}] ${mark} ${module.project.name} ${this.relative(module.moduleId)}: ${tests.length} tests, ${seconds} s`)
    for (const test of failed) this.log(`    ✗ ${test.fullName}`)
  }
}
