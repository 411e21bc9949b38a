import { Textarea, type TextareaProps } from '@mantine/core';

interface GrowingTextareaProps extends Omit<TextareaProps, 'autosize'> {
  readonly minRows: number;
  readonly maxRows: number;
}

/** CSS Basic User Interface 4, section 5.2. */
const CAN_SIZE_BY_CSS = CSS.supports('field-sizing', 'content');

/** Of so many lines, with padding and border. */
const heightOf = (rows: number): string => `calc(${rows} * 1lh + 2 * var(--input-padding-y) + 2px)`;

/**
 * Grows with its text. Where the browser can do that by style sheet, it does: measuring a second field, as the component library
 * does, makes it lay the page out twice before it is first shown.
 */
export function GrowingTextarea({ minRows, maxRows, ...others }: GrowingTextareaProps) {
  return CAN_SIZE_BY_CSS ? (
    <Textarea
      {...others}
      classNames={{ input: 'growing' }}
      styles={{ input: { minHeight: heightOf(minRows), maxHeight: heightOf(maxRows) } }}
    />
  ) : (
    <Textarea {...others} autosize minRows={minRows} maxRows={maxRows} />
  );
}
