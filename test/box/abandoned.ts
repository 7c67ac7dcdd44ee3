// Boots a box, says where it is and waits to be killed: what its test left behind must go without it.
import { bootBox } from './box.ts'

const box = await bootBox()
console.log(JSON.stringify({ folder: box.folder, group: box.group, first: box.firstProcess() }))
setInterval(() => {}, 60_000)
