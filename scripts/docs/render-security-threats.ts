import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the service must withstand, by number. A test that fails without the defence has the number in its title. */
const THREATS: readonly string[] = [
  'Guessing a user code',
  'Guessing a device code, or using it as another client',
  'Phishing of a device sign-in',
  'Somebody else decides a code seen on a screen',
  'Codes and secrets in URLs, logs and referrers',
  'Cross-site request forgery of an approval or a login',
  'Clickjacking of an approval',
  'Two polls of one code both get tokens',
  'Approval and denial at the same time',
  'Approval with the wrong kind of credential',
  'Tokens of an approval nobody collects',
  'A response lost after the tokens were collected',
  'An account disabled between approval and collection',
  'Abuse of device_id',
  'A client name that deceives the page',
  'Polling faster than the interval',
  'A flood of device codes',
  'Expiry at the edge and by different clocks',
  'The embedded login as a password oracle',
  'Guessing a client secret; a disabled client',
  'Wrong types, odd spellings and sizes of fields',
  'Guessing passwords, and locking owners out by guessing',
  'Finding out which accounts exist',
  'Password hashing as denial of service',
  'Guessing codes of the second step',
  'Using a code of the second step twice',
  'Skipping the second step',
  'Session fixation and weak cookies',
  'Secrets readable in the database',
  'Replay of a refresh token',
  'Concurrent refreshes, or a lost refresh, sign somebody out',
  'One kind of credential accepted in place of another',
  'A logout or ban other processes do not see',
  'Sign-ins that outlive a new password',
  'The user id header as an identity',
  'Secrets of the first administrator',
  'Guessing and flooding codes for phones',
  'A forged host in links',
  'Tasks and files of other accounts',
  'Any other object of other accounts',
  'An endpoint without a guard',
  'Fields a caller must not set',
  'An administrator who takes the rights of root',
  'Paths that lead around a guard',
  'Secrets of a channel in responses',
  'Expensive filters and pages',
  'Requests to internal addresses through caller URLs',
  'DNS rebinding',
  'Redirects to internal addresses',
  'A path to the outside without these checks',
  "A channel's credentials sent to somebody else's host",
  'Scripts delivered from our origin',
  'Header injection and hop-by-hop headers',
  'Decompression bombs',
  'Nonsense from upstreams',
  'Slow, endless and silent upstreams',
  'Hostile images',
  'Abuse of Range',
  'URLs set by administrators',
  'Request smuggling',
  'Oversized headers and bodies',
  'Deep, wide and ambiguous JSON',
  'Prototype pollution',
  'Media types that skip validation',
  'Limits of multipart bodies',
  'Slow clients',
  'Ill-formed text',
  'Numbers out of range and in odd spellings',
  'Regular expressions of exponential time',
  'Path traversal in static files',
  'Forged X-Forwarded-For',
  'A store of rate limits that is down',
  'Spending more than the balance by concurrency',
  'Negative, fractional and overflowing amounts',
  'A double refund',
  'A refund or task lost in a crash',
  'Balances that differ from the ledger',
  'A submit whose outcome is unknown',
  'Tasks that never end',
  'A later attempt that takes over the job of an earlier one',
  'Updates of a task out of order',
  'Disconnecting from a stream to avoid the charge',
  'Races of redemptions and plans',
  'The same submit twice',
  'Stored cross-site scripting',
  'Open redirects',
  'Formulas in exports',
  'Secrets in logs and errors',
  'Passwords of mailboxes',
  'A lost or doubled master key',
  'SQL injection',
  'The supply chain',
  'Signed URLs that work too long',
  'The sandbox left on',
  'Traps in models and configuration',
  'Forged log lines and audit entries',
  'Share links that are guessed, found by others or work too long',
  'Guessing the password of a share link',
  'Stored files that are reached past the service and its checks',
  'Access prepared in an account before its owner confirmed the address',
  'Webhooks as a flood',
];

interface ThreatTest {
  readonly path: string;
  readonly title: string;
}

/** Tests by the number of the threat in their title: `T09: …`, or `T10 and T32: …`. */
function findTests(root: string): ReadonlyMap<number, readonly ThreatTest[]> {
  const found = new Map<number, ThreatTest[]>();
  for (const path of globSync(['src/**/*.test.{ts,tsx}', 'test/**/*.test.{ts,tsx}'], { cwd: root }).sort()) {
    const text = readFileSync(join(root, path), 'utf8');
    for (const [, title = ''] of text.matchAll(
      /(?:\b(?:it|test|describe)\(|\.test\()\s*(?:'|"|`)([^'"`]*\bT\d{2,3}\b[^'"`]*)/g,
    ))
      for (const [, number] of title.matchAll(/\bT(\d{2,3})\b/g))
        found.set(Number(number), [...(found.get(Number(number)) ?? []), { path, title }]);
  }
  return found;
}

/** The numbers in titles that no threat has. */
export const unknownThreatNumbers = (root: string): number[] =>
  [...findTests(root).keys()].filter((number) => number < 1 || number > THREATS.length);

/** The table of docs/security-threats.md. */
export function renderThreats(root: string): string {
  const tests = findTests(root);
  const rows = THREATS.map((threat, index) => {
    const files = [...new Set((tests.get(index + 1) ?? []).map(({ path }) => path))];
    const number = `T${String(index + 1).padStart(2, '0')}`;
    return `| ${number} | ${threat} | ${files.map((path) => `\`${path}\``).join(', ') || 'no test names it yet'} |`;
  });
  const covered = THREATS.filter((_, index) => tests.has(index + 1)).length;
  return `# Threats and their tests

${covered} of ${THREATS.length} threats have a test with their number in its title. How the service protects what it has: [security.md](security.md). Run the tests of one threat with \`node --test --test-name-pattern=T22 FILE\`.

| | Threat | Tests |
|---|---|---|
${rows.join('\n')}
`;
}
