import { machineClass } from '#rails/authz/actor-class.ts'

/** The platform's own operator, by orders given on its machines. */
export const platformOperators = machineClass('platform_operator', 'the platform’s operator')
