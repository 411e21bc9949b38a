import { TextInput, type TextInputProps } from '@mantine/core';
import { useEffect, useState } from 'react';

interface DayInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** `2026-11-30`; empty: none. */
  readonly value: string;
  readonly onChange: (day: string) => void;
  /** The day cannot be removed. */
  readonly required?: boolean;
}

/**
 * A day whose change takes effect at once, such as a filter. While a year is typed, browsers report years such as 0002:
 * those are not passed on, since a request or another value for the field would interrupt the typing.
 */
export function DayInput({ value, onChange, required = false, ...others }: DayInputProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      {...others}
      type="date"
      value={text}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next);
        if (next === '' ? !required : next >= EARLIEST) onChange(next);
      }}
      onBlur={() => setText(value)}
    />
  );
}

/** Every typed year has three digits or fewer until it is complete. */
const EARLIEST = '1000';
