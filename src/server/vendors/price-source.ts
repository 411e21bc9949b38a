/** Where a default price was read. */
export interface PriceSource {
  /** The vendor's own page of prices. */
  readonly source: string;
  /** When that page, or a published copy or quotation of it, was last compared; null: none was found, and the price is older. */
  readonly confirmedOn: string | null;
  /** What was compared instead of the page itself, and what the price leaves out. */
  readonly note: string;
}
