import type { Box } from './box.ts'

const folder = '/etc/systemd/system/gatehouse-agent.service.d'

/** Gives the agent a clock that can be moved, as the agent alone sees it: sshd and the control plane have the right time. */
export const agentClock = async (box: Box) => {
  const set = (shift: string) => box.sure(`echo '${shift}' > /run/agent-clock`)
  const library = await box.sure('ls /usr/lib/*/faketime/libfaketime.so.1')
  const settings = `LD_PRELOAD=${library} FAKETIME_TIMESTAMP_FILE=/run/agent-clock FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1`
  await set('+0d')
  await box.sure(`mkdir -p ${folder}; cat > ${folder}/clock.conf; systemctl daemon-reload; systemctl restart gatehouse-agent`, {
    input: `[Service]\nEnvironment=${settings}\n`,
  })
  return {
    /** By how much it is ahead, or behind: `+2d`, `-90m`. */
    set,
    takeAway: () => box.sure(`rm ${folder}/clock.conf; systemctl daemon-reload; systemctl restart gatehouse-agent`),
  }
}
