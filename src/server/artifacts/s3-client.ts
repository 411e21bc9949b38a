import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AwsV4Signer } from 'aws4fetch';
import type { OutboundClient, OutboundResponse } from '../platform/outbound/outbound.ts';

/** A bucket and how to get into it. */
export interface S3Options {
  /** Such as `https://s3.eu-central-1.amazonaws.com`; the bucket follows in the path. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/** S3 did something else than it was asked for. */
export class S3Error extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(`S3 answered ${status}: ${message}`);
    this.name = 'S3Error';
    this.status = status;
  }
}

/** An upload is answered when its last byte has arrived. */
const HEADERS_TIMEOUT_MS = 15 * 60_000;
const MAX_MESSAGE_LENGTH = 200;

/**
 * Requests to an S3 bucket (API version 2006-03-01), signed with AWS Signature Version 4 and sent by the client that sends
 * everything else.
 */
export class S3Client {
  readonly #options: S3Options;
  readonly #outbound: OutboundClient;
  constructor(options: S3Options, outbound: OutboundClient) {
    this.#options = options;
    this.#outbound = outbound;
  }

  /**
   * @returns the response with a 2xx status, its body unread; undefined for 404
   * @throws S3Error, OutboundError
   */
  async send({ method, key, query = {}, headers = {}, body }: S3Request): Promise<OutboundResponse | undefined> {
    const { endpoint, bucket, region, accessKey, secretKey } = this.#options;
    const path = [bucket, ...(key === '' ? [] : key.split('/'))].map(encodeURIComponent).join('/');
    const url = new URL(`${endpoint}/${path}`);
    url.search = new URLSearchParams(query).toString();
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
    }).sign();
    const response = await this.#outbound.request({
      method,
      url: signed.url.href,
      headers: Object.fromEntries([...signed.headers].filter(([name]) => name !== 'host')),
      body,
      headersTimeoutMs: HEADERS_TIMEOUT_MS,
      // The operator's own setting, often a host of the own network.
      private: true,
    });
    if (response.status >= 200 && response.status < 300) return response;
    const answer = await text(response.body).catch(() => '');
    if (response.status === 404 && !answer.includes('NoSuchBucket')) return undefined;
    throw new S3Error(response.status, answer.replace(/(<[^>]*>|\s)+/g, ' ').slice(0, MAX_MESSAGE_LENGTH));
  }
}
