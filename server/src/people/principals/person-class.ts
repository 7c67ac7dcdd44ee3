import { personClass } from '#rails/authz/actor-class.ts'

export const people = personClass('user', 'a person')
