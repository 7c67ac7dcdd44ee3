import { machineClass } from '#rails/authz/actor-class.ts'

/** What runs in an allocation. It has a shape of claims and gets no token yet; its own room will declare it. */
export const workloads = machineClass('workload', 'a workload')
