import { TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly value: string;
  /** Called after a short pause, not on every keystroke, with the words without the spaces around them. */
  readonly onChange: (words: string) => void;
}

const PAUSE_MS = 300;

/** Words to search for. */
export function SearchInput({ value, onChange, ...others }: SearchInputProps) {
  const [text, setText] = useState(value);
  const applied = useRef(value);
  useEffect(() => {
    // The own words come back without the last space, and perhaps after more was typed.
    if (value !== applied.current) setText(value);
    applied.current = value;
  }, [value]);
  const apply = useDebouncedCallback((words: string) => {
    applied.current = words;
    onChange(words);
  }, PAUSE_MS);
  return (
    <TextInput
      {...others}
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next);
        apply(next.trim());
      }}
    />
  );
}
