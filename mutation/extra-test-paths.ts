/**
 * Parts of the paths of test files that are tried besides those in the folder itself and in the folder of the same name under
 * `test/`. A service that a test starts as a program of its own has no mutants.
 */
export const MORE_TESTS: Readonly<Record<string, readonly string[]>> = {
  'src/server/quota': ['test/plans/allowances', 'test/channels/channel-and-model-administration'],
  'src/server/accounts': [
    'test/role-hierarchy',
    'test/flows/video-access-ends-with-credential',
    'src/server/device-auth/oauth.test',
    'src/server/device-auth/page-logins.test',
  ],
  'src/server/device-auth': ['test/mailbox/signed-out-device-saw-password-notices'],
  'src/server/platform/http': ['test/http-guards-limits-and-headers', 'test/route-authentication'],
  'src/server/platform/outbound': [
    'test/vendors/adapter-contract',
    'test/channels/vendor-list',
    'test/chat/channel-headers-and-proxy',
    'test/webhooks/permitted-webhook-urls',
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
