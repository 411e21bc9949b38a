import type { Endpoint } from '../../contract/endpoint.ts';
import { getStatus } from '../../contract/service.ts';
import { Transport } from '../../sdk/transport.ts';
import { currentLanguage } from '../strings/language.ts';
import { readUserId } from './session.ts';

const LOCALES = { en: 'en', 'zh-cn': 'zh-CN' } as const;
let userHeader = 'Service-Api-User';
const toTransport = (): Transport =>
  new Transport({ baseUrl: '', userHeader, credentials: () => ({ userId: readUserId() }) });
let transport = toTransport();

const withLanguage = (headers: Readonly<Record<string, string>> | undefined) => ({
  'accept-language': LOCALES[currentLanguage()],
  ...headers,
});

/** Calls a line of the contract as the signed-in person, in the language of the page. Throws ReelgateError. */
export const call = ((endpoint: Endpoint, parts: never, options) =>
  transport.call(endpoint, parts, {
    ...options,
    headers: withLanguage(options?.headers),
  })) as Transport['call'];

/** The raw answer of a line, for streams. */
export const send = ((endpoint: Endpoint, parts: never, options) =>
  transport.send(endpoint, parts, { ...options, headers: withLanguage(options?.headers) })) as Transport['send'];

/** The service's own settings; read first, since they name the header every other request carries. */
export async function readStatus() {
  const { data } = await call(getStatus, {});
  if (data.api_user_header !== userHeader) {
    userHeader = data.api_user_header;
    transport = toTransport();
  }
  return data;
}
