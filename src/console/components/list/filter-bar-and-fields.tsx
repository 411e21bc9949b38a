import { Badge, Box, Button, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconFilter, IconSearch } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SavedViewsButton } from './saved-views-button.tsx';
import type { ListFilters } from './use-list-filters.ts';

/** What narrows a list; on a phone collapsed, as it would fill the first screen. */
export function FilterBar({ filters, children }: { readonly filters: ListFilters; readonly children: ReactNode }) {
  const { t } = useTranslation('list');
  const [open, { toggle }] = useDisclosure(filters.active);
  return (
    <Box mb="md" role="search">
      <Button
        hiddenFrom="xs"
        fullWidth
        variant="default"
        leftSection={<IconFilter size={16} />}
        rightSection={filters.active ? <Badge circle>{filters.count}</Badge> : null}
        onClick={toggle}
        aria-expanded={open}
      >
        {t('filters')}
      </Button>
      <Group gap="xs" mt={{ base: open ? 'xs' : 0, xs: 0 }} visibleFrom={open ? undefined : 'xs'}>
        {children}
        <SavedViewsButton filters={filters} />
      </Group>
    </Box>
  );
}

interface FilterFieldProps {
  readonly filters: ListFilters;
  readonly name: string;
  readonly label: string;
  readonly width?: number;
}

/** Searches after a short pause, so that a long list is not requested on every keystroke. */
export function TextFilter({
  filters,
  name,
  label,
  width = 220,
  pattern,
}: FilterFieldProps & { readonly pattern?: RegExp }) {
  const current = filters.value[name] ?? '';
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  const apply = useDebouncedCallback((next: string) => filters.set(name, next), 300);
  const isInvalid = text !== '' && pattern?.test(text) === false;
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={15} />}
      w={{ base: '100%', xs: width }}
      value={text}
      error={isInvalid}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        if (value === '' || pattern?.test(value.trim()) !== false) apply(value.trim());
      }}
    />
  );
}

export const ID_PATTERN = /^[1-9][0-9]{0,15}$/;

/** One of a few values; empty is all of them. */
export function ChoiceFilter({
  filters,
  name,
  label,
  width = 170,
  choices,
}: FilterFieldProps & { readonly choices: readonly { readonly value: string; readonly label: string }[] }) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={{ base: '100%', xs: width }}
      data={choices}
      value={filters.value[name] ?? null}
      onChange={(value) => filters.set(name, value ?? undefined)}
      clearable
      searchable={choices.length > 8}
      clearButtonProps={{ 'aria-label': label, tabIndex: -1 }}
    />
  );
}
