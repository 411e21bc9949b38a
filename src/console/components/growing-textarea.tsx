import { Textarea, type TextareaProps } from '@mantine/core';

interface GrowingTextareaProps extends Omit<TextareaProps, 'autosize'> {
  readonly minRows: number;
  readonly maxRows: number;
}

/** CSS Basic User Interface 4, section 5.2. */
const CAN_SIZE_BY_CSS = CSS.supports('field-sizing', 'content');

/**
 * Grows with its text. Where the browser can do that by style sheet, it does: measuring a second field, as the component library
 * does, makes it lay the page out twice before it is first shown.
 */
export function GrowingTextarea({ minRows, maxRows, ...others }: GrowingTextareaProps) {
  return CAN_SIZE_BY_CSS ? (
    <Textarea
      {...others}
      classNames={{ input: 'growing' }}
      __vars={{ '--rows-min': String(minRows), '--rows-max': String(maxRows) }}
    />
  ) : (
    <Textarea {...others} autosize minRows={minRows} maxRows={maxRows} />
  );
}
