/** What the upstream decides of a request, beside what its caller says. */
export interface UpstreamRequestParameters {
  /** Name of the model at the upstream. */
  readonly model: string;
  /** Tokens of the response; always sent, as so much was reserved. */
  readonly maxTokens: number;
  /** The member that holds them, where upstreams of one dialect differ in it. */
  readonly maxTokensKey: string;
  readonly stream: boolean;
}
