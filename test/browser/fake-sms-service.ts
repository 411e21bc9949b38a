import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A stub of an operator's SMS service. */
export interface FakeSmsService {
  /** URL of the stub, for the service's SMS setting. */
  readonly url: string;
  /** The last code sent to a number. */
  codeOf(number: string): string;
  close(): void;
}

/** Starts a stub of an SMS service that records messages. */
export async function startFakeSmsService(): Promise<FakeSmsService> {
  const codes = new Map<string, string>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { phone, code } = JSON.parse(body) as { phone: string; code: string };
      codes.set(phone, code);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sms`,
    codeOf: (number) => codes.get(number) ?? '',
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
