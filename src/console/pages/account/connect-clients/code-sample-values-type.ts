/** What the samples are filled with. */
export interface SampleValues {
  /** Address of the service, without a slash at the end. */
  readonly origin: string;
  readonly apiKey: string;
  /** A chat model this key may call. */
  readonly model: string;
  readonly siteName: string;
}
