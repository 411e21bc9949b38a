/**
 * Which test files are tried besides those in the folder itself and in the folder of the same name under `test/`: parts of
 * their paths. Only what runs in one process counts: a service started as a program of its own has no mutants in it.
 */
const MORE_TESTS: Readonly<Record<string, readonly string[]>> = {
  'src/server/quota': ['test/plans/allowances', 'test/channels/administration'],
  'src/server/accounts': [
    'test/role-hierarchy',
    'test/flows/access-ends',
    'src/server/device-auth/oauth.test',
    'src/server/device-auth/page-logins.test',
  ],
  'src/server/device-auth': ['test/mailbox/device-access'],
  'src/server/platform/http': ['test/request-guards', 'test/route-authentication'],
  'src/server/platform/outbound': [
    'src/server/upstreams/',
    'test/vendors/contract',
    'test/channels/vendors',
    'test/chat/channel-connection',
    'test/webhooks/addresses',
    'src/server/webhooks/',
    'test/operations/traces',
  ],
};

/** Parts of the paths of the test files that are tried for a source file or a folder. */
export function extraTestPaths(path: string): string[] {
  const folder = path.replace(/\/[^/]+\.ts$/, '');
  const known = Object.keys(MORE_TESTS).find((each) => folder === each || folder.startsWith(`${each}/`));
  const top = known ?? folder;
  return [`${top}/`, `test/${top.split('/').at(-1)}/`, ...(MORE_TESTS[top] ?? [])];
}
