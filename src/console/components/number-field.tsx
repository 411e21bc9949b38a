import { NumberInput, type NumberInputProps } from '@mantine/core';
import type { ClipboardEvent } from 'react';
import { parsePastedNumber } from '../data/pasted-number.ts';

export type NumberFieldProps = NumberInputProps;

/** Mantine's input drops the characters it does not know, which would make 13 of `1e3`. */
function pasteNumber(event: ClipboardEvent, isInteger: boolean): void {
  event.preventDefault();
  event.stopPropagation();
  const number = parsePastedNumber(event.clipboardData.getData('text'));
  if (number === undefined || (isInteger && number.includes('.'))) return;
  document.execCommand('insertText', false, number);
}

/** A field for a number, typed or pasted in the notations of both languages of the console. */
export const NumberField = (props: NumberFieldProps) => (
  <NumberInput
    allowedDecimalSeparators={['.', ',', '。']}
    onPasteCapture={(event) => pasteNumber(event, props.allowDecimal === false)}
    {...props}
  />
);
