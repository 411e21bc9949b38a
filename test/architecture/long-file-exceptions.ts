/** Why a suite stays in one file: its tests share one running service, and each part would start its own. */
const ONE_SERVICE = 'its tests share one running service on each database; parts would start as many';

/** Files of 301–500 lines and why they stay whole: each of the product, and the long suites whose parts would cost more. */
export const LONG_FILE_EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/server/chat/model-call.ts':
    'one model call from its reservation to its settlement: a state machine whose steps belong together',
  'src/server/platform/setting-definitions.ts':
    'the table of all settings: a row each with its type, limits and documentation',
  'src/server/accounts/login/registration-login-and-session.test.ts': ONE_SERVICE,
  'src/server/device-auth/device-token-service.test.ts': ONE_SERVICE,
  'src/server/device-auth/pages.test.ts': ONE_SERVICE,
  'src/server/platform/http/server.test.ts': 'one test for each guard of the HTTP layer, over one server',
  'src/server/quota/ledger-service.test.ts':
    'the ledger beside a model of plain arithmetic, which most of its tests use',
  'src/server/vendors/kling/adapter.test.ts':
    'one vendor: request, states and errors of each family, over one simulator',
  'test/channels/channel-and-model-administration.test.ts': ONE_SERVICE,
  'test/chat/unusual-upstream-responses.test.ts': ONE_SERVICE,
  'test/faults/vendor-api-fault-matrix.test.ts':
    'every fault at every operation of every vendor, over one service on each database',
  'test/flows/video-content.test.ts': ONE_SERVICE,
  'test/notifications/notification-center.test.ts': ONE_SERVICE,
  'test/http-guards-limits-and-headers.test.ts': ONE_SERVICE,
};
