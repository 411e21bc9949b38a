import type { VendorProfile } from '../adapter-types.ts';
import { ApiKey, checkChatUpstreamKey } from '../chat-upstream-key-check.ts';

/** Google's Gemini API by its generateContent. Its models are rows the administrator creates. */
export const gemini: VendorProfile = {
  name: 'gemini',
  title: 'Gemini generateContent protocol',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com',
  credentials: ApiKey,

  /** ai.google.dev/api/models */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, {
      vendor: 'gemini',
      path: '/v1beta/models?pageSize=200',
      listKey: 'models',
      idKey: 'name',
    }),
};
