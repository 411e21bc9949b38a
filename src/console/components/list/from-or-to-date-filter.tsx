import { Text, TextInput } from '@mantine/core';
import type { ListFilters } from './use-list-filters.ts';

interface DayFilterProps {
  readonly filters: ListFilters;
  readonly name: string;
  readonly label: string;
  /** Uses the last second of the day instead of the first. */
  readonly end?: boolean;
}

/** A day in the local time zone; the URL contains Unix seconds, as the service expects them. */
export function FromOrToDateFilter({ filters, name, label, end = false }: DayFilterProps) {
  const seconds = Number(filters.value[name] ?? Number.NaN);
  return (
    <TextInput
      type="date"
      aria-label={label}
      leftSection={
        <Text size="sm" c="dimmed">
          {label}
        </Text>
      }
      leftSectionWidth={56}
      w={{ base: '100%', xs: 196 }}
      value={Number.isFinite(seconds) ? new Date(seconds * 1000).toLocaleDateString('sv-SE') : ''}
      onChange={({ currentTarget: { value } }) => {
        const at = new Date(`${value}T${end ? '23:59:59' : '00:00:00'}`).getTime();
        filters.set(name, Number.isFinite(at) ? String(Math.floor(at / 1000)) : undefined);
      }}
    />
  );
}
