import type { VendorProfile } from '../adapter-types.ts';
import { ApiKey, checkChatUpstreamKey } from '../chat-upstream-key-check.ts';

/** Any service with OpenAI's chat protocol. Its models are rows the administrator creates. */
export const openai: VendorProfile = {
  name: 'openai',
  title: 'OpenAI chat protocol',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: ApiKey,

  /** platform.openai.com/docs/api-reference/models/list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'openai', path: '/v1/models', listKey: 'data', idKey: 'id' }),
};
