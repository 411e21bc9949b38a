import { InputBase, type InputBaseProps } from '@mantine/core';
import { type ComponentProps, lazy, Suspense } from 'react';

interface GrowingTextareaProps extends InputBaseProps, Omit<ComponentProps<'textarea'>, keyof InputBaseProps> {
  readonly minRows: number;
  readonly maxRows: number;
}

/** CSS Basic User Interface 4, section 5.2. */
const CAN_SIZE_BY_CSS = CSS.supports('field-sizing', 'content');

const AutosizeTextarea = lazy(() => import('./autosize-textarea.tsx'));

/** Height of the given number of rows, with padding and border. */
const heightOf = (rows: number): string => `calc(${rows} * 1lh + 2 * var(--input-padding-y) + 2px)`;

/**
 * A text area that grows with its content. Uses CSS where supported: Mantine measures a hidden second field, which
 * causes two layouts before the first paint, and whose code is loaded only where it is needed.
 */
export function GrowingTextarea({ minRows, maxRows, ...others }: GrowingTextareaProps) {
  return CAN_SIZE_BY_CSS ? (
    <InputBase
      component="textarea"
      multiline
      {...others}
      classNames={{ input: 'growing' }}
      styles={{ input: { minHeight: heightOf(minRows), maxHeight: heightOf(maxRows) } }}
    />
  ) : (
    <Suspense>
      <AutosizeTextarea {...others} autosize minRows={minRows} maxRows={maxRows} />
    </Suspense>
  );
}
