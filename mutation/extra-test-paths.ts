/**
 * Parts of test file paths to run in addition to the tests in the same folder and in the folder of the same name under
 * `test/`. A service that a test starts as a separate program has no mutants.
 */
export const MORE_TESTS: Readonly<Record<string, readonly string[]>> = {
  'src/server/quota': ['test/plans/allowances', 'test/channels/administration'],
  'src/server/accounts': [
    'test/role-hierarchy',
    'test/flows/video-access-ends',
    'src/server/device-auth/oauth.test',
    'src/server/device-auth/page-logins.test',
  ],
  'src/server/device-auth': ['test/mailbox/device-notices'],
  'src/server/video': ['test/flows/video-submission'],
  'src/server/platform/http': ['test/http-guards', 'test/route-authentication'],
  'src/server/platform/outbound': [
    'test/vendors/adapter-contract',
    'test/channels/vendor-list',
    'test/chat/channel-headers',
    'test/webhooks/permitted-webhook-urls',
    'src/server/webhooks/',
    'test/operations/traces',
  ],
};

/** Parts of test file paths to run for a source file or folder. */
export function extraTestPaths(path: string): string[] {
  const folder = path.replace(/\/[^/]+\.ts$/, '');
  const known = Object.keys(MORE_TESTS).find((each) => folder === each || folder.startsWith(`${each}/`));
  const top = known ?? folder;
  return [`${top}/`, `test/${top.split('/').at(-1)}/`, ...(MORE_TESTS[top] ?? [])];
}
