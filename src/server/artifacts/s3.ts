import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AwsV4Signer } from 'aws4fetch';
import type { OutboundClient, OutboundResponse } from '../platform/outbound/outbound.ts';
import { MARKER, type MarkedStorage } from './file-storage.ts';

/** Stores copies as objects in an S3 bucket. */
export class S3FileStorage implements MarkedStorage {
  readonly #client: S3Client;
  readonly #prefix: string;

  /** @param prefix prefix of the object keys; may be empty */
  constructor(client: S3Client, prefix: string) {
    this.#client = client;
    this.#prefix = client.keyPrefix + prefix;
  }

  async put(id: string, path: string, { bytes, sha256 }: { bytes: number; sha256: string }): Promise<void> {
    // S3 verifies the received bytes against the hash and rejects a mismatch.
    const headers = { 'content-length': String(bytes), 'x-amz-content-sha256': sha256 };
    await this.#run({ method: 'PUT', key: this.#prefix + id, headers, body: createReadStream(path) });
    await rm(path, { force: true });
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    const headers = { range: `bytes=${start}-${end}` };
    const response = await this.#client.send({ method: 'GET', key: this.#prefix + id, headers });
    if (response === undefined || response.status === 206) return response?.body;
    const length = response.headers['content-length'];
    if (start === 0 && Number(length) === end + 1) return response.body;
    response.body.destroy();
    throw new S3Error(response.status, `it sent ${length} bytes for the range ${start} to ${end}`);
  }

  async size(id: string): Promise<number | undefined> {
    const response = await this.#client.send({ method: 'HEAD', key: this.#prefix + id });
    response?.body.destroy();
    return response === undefined ? undefined : Number(response.headers['content-length']);
  }

  async remove(id: string): Promise<void> {
    await this.#run({ method: 'DELETE', key: this.#prefix + id });
  }

  async *list(): AsyncGenerator<{ id: string; changedAt: number }[]> {
    let token: string | undefined;
    do {
      const query = { 'list-type': '2', prefix: this.#prefix, ...(token && { 'continuation-token': token }) };
      const page: string = await this.#run({ method: 'GET', key: '', query });
      yield this.#read(page);
      // Some services end with an empty token, which would start the list again.
      token = elementOf(page, 'NextContinuationToken');
    } while (token);
  }

  get markerName(): string {
    return `s3://${this.#client.bucket}/${this.#prefix}${MARKER}`;
  }

  isMarked(): Promise<boolean> {
    return this.#has(MARKER);
  }

  mark(): Promise<void> {
    return this.#putEmpty(MARKER);
  }

  /** Whether some of the files are still on a disk. */
  isDiskNoted(): Promise<boolean> {
    return this.#has(DISK_NOTE);
  }

  noteDisk(): Promise<void> {
    return this.#putEmpty(DISK_NOTE);
  }

  forgetDisk(): Promise<void> {
    return this.remove(DISK_NOTE);
  }

  /** S3 also answers 403 for a missing object to a key that may not list the bucket. */
  async #has(name: string): Promise<boolean> {
    try {
      return (await this.size(name)) !== undefined;
    } catch (error) {
      if (error instanceof S3Error && error.status === 403) return false;
      throw error;
    }
  }

  async #putEmpty(name: string): Promise<void> {
    const headers = { 'content-length': '0', 'x-amz-content-sha256': EMPTY_SHA256 };
    await this.#run({ method: 'PUT', key: this.#prefix + name, headers });
  }

  /** A bucket has no size limit. */
  async freeBytes(): Promise<undefined> {
    return undefined;
  }

  /** Ids consist of letters and digits, so the response contains nothing escaped; foreign keys are ignored. */
  #read(page: string): { id: string; changedAt: number }[] {
    return (page.match(/<Contents>.*?<\/Contents>/gs) ?? []).flatMap((entry) => {
      const id = (elementOf(entry, 'Key') ?? '').slice(this.#prefix.length);
      const changedAt = Date.parse(elementOf(entry, 'LastModified') ?? '');
      return /^[A-Za-z0-9_-]{24}$/.test(id) && !Number.isNaN(changedAt) ? [{ id, changedAt }] : [];
    });
  }

  async #run(request: S3Request): Promise<string> {
    const response = await this.#client.send(request);
    return response === undefined ? '' : text(response.body);
  }
}

/** Empty object in the bucket while files are also on a disk that is still to be moved; no id is of this form. */
const DISK_NOTE = '.reelgate-disk';
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const elementOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];

/** Bucket name and credentials. */
interface S3Options {
  /** For example `https://s3.eu-central-1.amazonaws.com`; the bucket is added to it. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/** S3 returned an unexpected response. */
class S3Error extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(`S3 answered ${status}: ${message}`);
    this.name = 'S3Error';
    this.status = status;
  }
}

/** Alibaba, Tencent, Volcengine and Huawei refuse a bucket in the path (SecondLevelDomainForbidden and the like). */
const BUCKET_IN_HOST = /\.(?:aliyuncs|myqcloud|i?volces|myhuaweicloud)\.com$/;

/** Where the keys of a bucket are addressed. */
interface BucketAddress {
  readonly url: string;
  /** The part of every key that the address implies. */
  readonly keyPrefix: string;
}

/** Address of a bucket: in the path, or before the host where the service wants that. */
function toBucketAddress(endpoint: string, bucket: string): BucketAddress {
  const inPath = { url: `${endpoint}/${encodeURIComponent(bucket)}`, keyPrefix: '' };
  const url = new URL(endpoint);
  if (!BUCKET_IN_HOST.test(url.hostname)) return inPath;
  // The host as the consoles of these services show it. The path that earlier releases added has become part of the keys.
  if (url.hostname.startsWith(`${bucket}.`)) return { url: endpoint, keyPrefix: `${bucket}/` };
  // Certificates cover one label before the host.
  if (bucket.includes('.')) return inPath;
  url.hostname = `${bucket}.${url.hostname}`;
  return { url: url.href.replace(/\/$/, ''), keyPrefix: '' };
}

/** S3 answers an upload only after its last byte has arrived. */
const HEADERS_TIMEOUT_MS = 15 * 60_000;
const MAX_MESSAGE_LENGTH = 200;

/**
 * Sends requests to an S3 bucket (API version 2006-03-01), signed with AWS Signature Version 4, through the common
 * outbound client.
 */
export class S3Client {
  readonly #options: S3Options;
  readonly #address: BucketAddress;
  readonly #outbound: OutboundClient;
  constructor(options: S3Options, outbound: OutboundClient) {
    this.#options = options;
    this.#address = toBucketAddress(options.endpoint, options.bucket);
    this.#outbound = outbound;
  }

  get bucket(): string {
    return this.#options.bucket;
  }

  /** Precedes every key of this service. */
  get keyPrefix(): string {
    return this.#address.keyPrefix;
  }

  /**
   * @returns the response with a 2xx status and an unread body; undefined for 404
   * @throws S3Error, OutboundError
   */
  async send({ method, key, query = {}, headers = {}, body }: S3Request): Promise<OutboundResponse | undefined> {
    const { region, accessKey, secretKey } = this.#options;
    const path = key.split('/').map(encodeURIComponent).join('/');
    const url = new URL(this.#address.url + (key === '' ? '' : `/${path}`));
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
      // Configured by the operator, and often a host in the operator's own network.
      private: true,
    });
    if (response.status >= 200 && response.status < 300) return response;
    const answer = await text(response.body).catch(() => '');
    if (response.status === 404 && !answer.includes('NoSuchBucket')) return undefined;
    throw new S3Error(response.status, answer.replace(/(<[^>]*>|\s)+/g, ' ').slice(0, MAX_MESSAGE_LENGTH));
  }
}
