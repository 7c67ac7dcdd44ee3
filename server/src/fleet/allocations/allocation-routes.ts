import * as allocations from '@gatehouse/contract/allocations'
import { answer } from '#rails/http/answer.ts'
import type { AllocationParts, RequireTaggable } from './allocation.ts'
import { createAllocation } from './create-allocation.ts'
import { listAllocations } from './list-allocations.ts'
import { nameOwner } from './name-owner.ts'
import { readAllocation } from './read-allocation.ts'
import { releaseAllocation } from './release-allocation.ts'
import { replaceSshKeys } from './replace-ssh-keys.ts'

export const allocationRoutes = (parts: AllocationParts, requireTaggable: RequireTaggable) => [
  answer(allocations.listAllocations, listAllocations),
  answer(allocations.createAllocation, createAllocation(parts, requireTaggable)),
  answer(allocations.readAllocation, readAllocation),
  answer(allocations.releaseAllocation, releaseAllocation(parts)),
  answer(allocations.replaceAllocationSshKeys, replaceSshKeys(parts)),
  answer(allocations.nameAllocationOwner, nameOwner(parts)),
]
