import fc from 'fast-check'
import { seededNumber } from './sweep.ts'

// One seed for all that a run draws, which its first line names: what fails once fails again, and successive commits draw differently.
fc.configureGlobal({ seed: seededNumber('fast-check') | 0 })
