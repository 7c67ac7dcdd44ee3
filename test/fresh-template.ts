// A process of its own: `fresh-template.ts <key>`. In watch mode the code that makes the template may have changed since the run began, and a
// process that loaded it does not load it again. Makes the template anew where the key is another one, and prints the key.
import { remakeTemplate, type Template, templateKey } from './template.ts'

const { SUPERUSER_URL, TEMPLATE } = process.env as { SUPERUSER_URL: string; TEMPLATE: string }
const key = await templateKey()
if (key !== process.argv[2]) await remakeTemplate(JSON.parse(TEMPLATE) as Template, SUPERUSER_URL)
console.log(key)
