import { isObject } from '../../../contract/is-object.ts';
import { AppError } from '../../platform/app-error.ts';
import type { Log } from '../../platform/log.ts';
import type { BufferedResponse, OutboundClient } from '../../platform/outbound/outbound.ts';

const TIMEOUT_MS = 10_000;
const MAX_MESSAGING_ID_LENGTH = 200;

/** Sends a code to a phone. */
export interface PhoneCodeSender {
  /** @throws phone_unavailable */
  send(phone: string, code: string): Promise<void>;
}

/** Queries the operator's service for the messaging-app account that a code belongs to. */
export interface MessagingAccountLookup {
  /** The id of the messaging account; undefined for a wrong code. @throws messaging_unavailable */
  verify(code: string): Promise<string | undefined>;
}

/** For development: writes the code to the log, readable for whoever runs the service. */
export class LogPhoneSender implements PhoneCodeSender {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  async send(phone: string, code: string): Promise<void> {
    this.#log.info({ phone }, `the code for this phone is ${code}`);
  }
}

/** POST `{phone, code}` to a URL of the operator's; any 2xx is a success. */
export class HttpPhoneSender implements PhoneCodeSender {
  readonly #outbound: OutboundClient;
  readonly #url: string;

  constructor(outbound: OutboundClient, url: string) {
    this.#outbound = outbound;
    this.#url = url;
  }

  async send(phone: string, code: string): Promise<void> {
    const response = await callOrFail('phone_unavailable', () =>
      this.#outbound.requestJson({
        method: 'POST',
        url: this.#url,
        private: true,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ phone, code }),
        totalTimeoutMs: TIMEOUT_MS,
      }),
    );
    if (response.status < 200 || response.status > 299)
      throw new AppError('phone_unavailable', { log: { status: response.status } });
  }
}

/** GET `<url>?code=…`, which returns `{success, data: account id}`. Without a URL nothing can be verified. */
export class HttpMessagingAccountLookup implements MessagingAccountLookup {
  readonly #outbound: OutboundClient;
  readonly #url: string | undefined;

  constructor(outbound: OutboundClient, url: string | undefined) {
    this.#outbound = outbound;
    this.#url = url;
  }

  async verify(code: string): Promise<string | undefined> {
    if (this.#url === undefined) throw new AppError('messaging_unavailable');
    const target = new URL(this.#url);
    target.searchParams.set('code', code);
    const response = await callOrFail('messaging_unavailable', () =>
      this.#outbound.requestJson({ method: 'GET', url: target.href, private: true, totalTimeoutMs: TIMEOUT_MS }),
    );
    return parseMessagingId(response);
  }
}

/** An id is a string or an integer; any other success response contains no usable id. */
function parseMessagingId({ status, json }: BufferedResponse): string | undefined {
  const { success, data } = isObject(json) ? json : {};
  if (status >= 500 || typeof success !== 'boolean') throw new AppError('messaging_unavailable', { log: { status } });
  if (!success) return undefined;
  const id = typeof data === 'number' && Number.isSafeInteger(data) ? String(data) : data;
  if (typeof id !== 'string' || id === '' || id.length > MAX_MESSAGING_ID_LENGTH || id.includes('\u0000'))
    throw new AppError('messaging_unavailable', { log: { status, reason: 'no account id' } });
  return id;
}

async function callOrFail(
  code: 'phone_unavailable' | 'messaging_unavailable',
  call: () => Promise<BufferedResponse>,
): Promise<BufferedResponse> {
  try {
    return await call();
  } catch (error) {
    throw new AppError(code, { log: { err: error }, cause: error });
  }
}
