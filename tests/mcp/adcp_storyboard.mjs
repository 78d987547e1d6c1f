// Runs the storyboard `idempotency` of the Ad Context Protocol, as its official SDK has it, against
// a seller: node adcp_storyboard.mjs URL. Writes a JSON object: `{step: {passed, failures}}`.
import { getComplianceStoryboardById, runStoryboard } from '@adcp/sdk/testing';

const storyboard = getComplianceStoryboardById('idempotency');
// The runner sends the current time in place of a time that is past, and then a repeat is another
// request than the first.
const year = new Date().getUTCFullYear() + 1;
for (const step of storyboard.phases.flatMap((phase) => phase.steps)) {
  const { sample_request: sent } = step;
  // For how long a second event is waited for: 30 s in the storyboard.
  if (step.task === 'expect_webhook') step.timeout_seconds = 3;
  for (const name of ['start_time', 'end_time']) {
    if (sent?.[name] !== undefined) sent[name] = sent[name].replace(/^\d{4}/, String(year));
  }
}
const result = await runStoryboard(process.argv[2], storyboard, {
  protocol: 'mcp',
  allow_http: true,
  contracts: ['webhook_receiver_runner'],
  webhook_receiver: { mode: 'loopback_mock' },
});
const verdicts = {};
for (const step of result.phases.flatMap((phase) => phase.steps)) {
  verdicts[step.step_id] = {
    passed: step.passed && !step.skipped,
    failures: step.validations.filter((each) => !each.passed).map((each) => each.description),
    why: step.error ?? step.skip_reason ?? null,
  };
}
process.stdout.write(JSON.stringify({ passed: result.overall_passed, verdicts }));
process.exit(0);
