import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Outbound, OutboundAnswer } from '../platform/outbound/outbound.ts';

/** Brings a code to a phone. */
export interface PhoneDriver {
  /** @throws phone_unavailable */
  send(phone: string, code: string): Promise<void>;
}

/** Asks whose messaging-app account a code belongs to. */
export interface MessagingVerifier {
  /** The messaging account's id; undefined for a wrong code. @throws messaging_unavailable */
  verify(code: string): Promise<string | undefined>;
}

/** For development: the code stands in the log, readable for whoever runs the service. */
export function logPhoneDriver(log: Log): PhoneDriver {
  return {
    async send(phone, code) {
      log.info({ phone }, `the code for this phone is ${code}`);
    },
  };
}

const TIMEOUT_MS = 10_000;

/** POST `{phone, code}` to an address of the operator's; any 2xx is a success. */
export function httpPhoneDriver(outbound: Outbound, url: string): PhoneDriver {
  return {
    async send(phone, code) {
      const answer = await orFail('phone_unavailable', () =>
        outbound.json({
          method: 'POST',
          url,
          private: true,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ phone, code }),
          totalTimeoutMs: TIMEOUT_MS,
        }),
      );
      if (answer.status < 200 || answer.status > 299) {
        throw new AppError('phone_unavailable', { log: { status: answer.status } });
      }
    },
  };
}

/** GET `<url>?code=…`, answering `{success, data: account id}`. Without an address nobody can be asked. */
export function httpMessagingVerifier(outbound: Outbound, url: string | undefined): MessagingVerifier {
  return {
    async verify(code) {
      if (url === undefined) throw new AppError('messaging_unavailable');
      const target = new URL(url);
      target.searchParams.set('code', code);
      const answer = await orFail('messaging_unavailable', () =>
        outbound.json({ method: 'GET', url: target.href, private: true, totalTimeoutMs: TIMEOUT_MS }),
      );
      return readMessagingId(answer);
    },
  };
}

/** An id is a text or a whole number; any other success says nothing we could keep. */
function readMessagingId({ status, json }: OutboundAnswer): string | undefined {
  const { success, data } = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  if (status >= 500 || typeof success !== 'boolean') {
    throw new AppError('messaging_unavailable', { log: { status } });
  }
  if (!success) return undefined;
  const id = typeof data === 'number' && Number.isSafeInteger(data) ? String(data) : data;
  if (typeof id !== 'string' || id === '' || id.length > 200 || id.includes('\u0000')) {
    throw new AppError('messaging_unavailable', { log: { status, reason: 'no account id' } });
  }
  return id;
}

async function orFail(
  code: 'phone_unavailable' | 'messaging_unavailable',
  ask: () => Promise<OutboundAnswer>,
): Promise<OutboundAnswer> {
  try {
    return await ask();
  } catch (error) {
    throw new AppError(code, { log: { err: error }, cause: error });
  }
}
