import { Mailbox } from './mailbox.ts';
import { type Credentials, Transport, type TransportOptions } from './transport.ts';
import { Videos } from './videos.ts';

export { ReelgateError } from './errors.ts';
export type { AppPasswordInfo, MailboxInfo } from './mailbox.ts';
export type { Credentials, TransportOptions } from './transport.ts';
export { Transport } from './transport.ts';
export type { CreateVideo, Video, WaitOptions } from './videos.ts';

/** The service as code calls it. */
export class Reelgate {
  readonly transport: Transport;
  readonly videos: Videos;
  readonly mailbox: Mailbox;

  constructor(
    options: Omit<TransportOptions, 'credentials'> & {
      readonly credentials?: Credentials | TransportOptions['credentials'];
    },
  ) {
    const { credentials, ...rest } = options;
    const read = typeof credentials === 'function' ? credentials : () => credentials ?? {};
    this.transport = new Transport({ ...rest, baseUrl: options.baseUrl.replace(/\/+$/, ''), credentials: read });
    this.videos = new Videos(this.transport);
    this.mailbox = new Mailbox(this.transport);
  }
}
