import * as constraints from '@gatehouse/contract/constraints'
import * as policies from '@gatehouse/contract/policies'
import { answer } from '#rails/http/answer.ts'
import { createConstraint } from './create-constraint.ts'
import { deleteConstraint } from './delete-constraint.ts'
import { listConstraints, listConstraintVersions } from './list-constraints.ts'
import { listPolicyDefinitions } from './list-policy-definitions.ts'
import { listPolicyValues } from './list-policy-values.ts'
import type { PolicySubscribers } from './policy-subscribers.ts'
import { readConstraint } from './read-constraint.ts'
import { removePolicyValue } from './remove-policy-value.ts'
import { setPolicyValue } from './set-policy-value.ts'
import { updateConstraint } from './update-constraint.ts'

/** Each verb serves all three scopes: the path says which. */
export const policyAdminRoutes = (subscribers: PolicySubscribers) => [
  answer(policies.listPolicyDefinitions, listPolicyDefinitions),
  answer(policies.listPlatformPolicyValues, listPolicyValues),
  answer(policies.listOrganizationPolicyValues, listPolicyValues),
  answer(policies.listProjectPolicyValues, listPolicyValues),
  answer(policies.setPlatformPolicyValue, setPolicyValue(subscribers)),
  answer(policies.setOrganizationPolicyValue, setPolicyValue(subscribers)),
  answer(policies.setProjectPolicyValue, setPolicyValue(subscribers)),
  answer(policies.removePlatformPolicyValue, removePolicyValue(subscribers)),
  answer(policies.removeOrganizationPolicyValue, removePolicyValue(subscribers)),
  answer(policies.removeProjectPolicyValue, removePolicyValue(subscribers)),
  answer(constraints.listPlatformConstraints, listConstraints),
  answer(constraints.listOrganizationConstraints, listConstraints),
  answer(constraints.listProjectConstraints, listConstraints),
  answer(constraints.createPlatformConstraint, createConstraint),
  answer(constraints.createOrganizationConstraint, createConstraint),
  answer(constraints.createProjectConstraint, createConstraint),
  answer(constraints.readPlatformConstraint, readConstraint),
  answer(constraints.readOrganizationConstraint, readConstraint),
  answer(constraints.readProjectConstraint, readConstraint),
  answer(constraints.listPlatformConstraintVersions, listConstraintVersions),
  answer(constraints.listOrganizationConstraintVersions, listConstraintVersions),
  answer(constraints.listProjectConstraintVersions, listConstraintVersions),
  answer(constraints.updatePlatformConstraint, updateConstraint),
  answer(constraints.updateOrganizationConstraint, updateConstraint),
  answer(constraints.updateProjectConstraint, updateConstraint),
  answer(constraints.deletePlatformConstraint, deleteConstraint),
  answer(constraints.deleteOrganizationConstraint, deleteConstraint),
  answer(constraints.deleteProjectConstraint, deleteConstraint),
]
