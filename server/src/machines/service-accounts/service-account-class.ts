import { machineClass } from '#rails/authz/actor-class.ts'

export const serviceAccounts = machineClass('service_account', 'a service account')
