/** Something that is done with each of the chosen rows, one request for each. */
export interface BulkAction<Row> {
  readonly id: string;
  readonly label: string;
  /** What it does, shown before it is done. */
  readonly text: string;
  /** Rows it makes no sense for are left out; default: none. */
  readonly appliesTo?: (row: Row) => boolean;
  readonly run: (row: Row) => Promise<unknown>;
  readonly isDangerous?: boolean;
}
