import { Badge, Box, Button, Group, Select } from '@mantine/core';
import { useDebouncedCallback, useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { IconBookmark, IconFilter } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListUsers } from '../../../contract/admin-accounts.ts';
import { listTasks } from '../../../contract/admin-videos.ts';
import { adminListOrganizations } from '../../../contract/organizations.ts';
import { listQuery, type NameLookup, useChannels, useUserNames } from '../../data/admin.ts';
import { formatDateField } from '../../data/field-values.ts';
import { apiKeysQuery } from '../../data/keys.ts';
import { usableModelsQuery } from '../../data/self.ts';
import { DayInput } from '../day-input.tsx';
import { LazyDropdownButton } from '../lazy-dropdown-button.tsx';
import { byLabelOrValue, toModelOptions } from '../model-name.tsx';
import { SearchInput } from '../search-input.tsx';
import type { ListFilters } from './use-list-filters.ts';

/** Filters of a list; collapsed on phones, where they would fill the first screen. */
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
      <Group gap="xs" align="flex-end" mt={{ base: open ? 'xs' : 0, xs: 0 }} visibleFrom={open ? undefined : 'xs'}>
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

/** A filter by words. */
export function TextFilter({
  filters,
  name,
  label,
  width = 220,
  placeholder,
}: FilterFieldProps & { readonly placeholder?: string }) {
  return (
    <SearchInput
      label={label}
      placeholder={placeholder}
      w={{ base: '100%', xs: width }}
      value={filters.value[name] ?? ''}
      onChange={(words) => filters.set(name, words)}
    />
  );
}

/** A filter with a few values; empty selects all. */
export function ChoiceFilter({
  filters,
  name,
  label,
  width = 170,
  choices,
}: FilterFieldProps & { readonly choices: readonly { readonly value: string; readonly label: string }[] }) {
  const { t } = useTranslation('list');
  return (
    <Select
      label={label}
      placeholder={t('any')}
      w={{ base: '100%', xs: width }}
      data={choices}
      value={filters.value[name] ?? null}
      onChange={(value) => filters.set(name, value ?? undefined)}
      clearable
      searchable={choices.length > 8}
      filter={byLabelOrValue}
      clearButtonProps={{ 'aria-label': label, tabIndex: -1 }}
    />
  );
}

interface DayFilterProps {
  readonly filters: ListFilters;
  readonly name: string;
  readonly label: string;
  /** Uses the last second of the day instead of the first. */
  readonly end?: boolean;
}

/** The first and the last day, which stay on one line. */
export function PeriodFilter({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('list');
  return (
    <Group gap="xs" wrap="nowrap" w={{ base: '100%', xs: 'auto' }} grow preventGrowOverflow={false}>
      <DateFilter filters={filters} name="from" label={t('from')} />
      <DateFilter filters={filters} name="to" label={t('to')} end />
    </Group>
  );
}

/** A day in the local time zone; the URL stores Unix seconds, as the service expects. */
function DateFilter({ filters, name, label, end = false }: DayFilterProps) {
  const seconds = Number(filters.value[name] ?? Number.NaN);
  return (
    <DayInput
      label={label}
      miw={0}
      w={{ base: '100%', xs: 150 }}
      value={Number.isFinite(seconds) ? formatDateField(seconds) : ''}
      onChange={(value) => {
        const at = new Date(`${value}T${end ? '23:59:59' : '00:00:00'}`).getTime();
        filters.set(name, Number.isFinite(at) ? String(Math.floor(at / 1000)) : undefined);
      }}
    />
  );
}

interface EntityFilterProps {
  readonly filters: ListFilters;
}

const MAX_RESULTS = 20;
const DEBOUNCE_MS = 250;

interface UserFilterProps extends EntityFilterProps {
  /** Name of the filter in the URL. */
  readonly name?: string;
  readonly label?: string;
}

/** Filters by user, searched by name or e-mail; the URL stores the id. */
export function UserFilter({ filters, name = 'user_id', label }: UserFilterProps) {
  const { t } = useTranslation('list');
  const [search, setSearch] = useState<string>();
  const id = filters.value[name];
  const nameOf = useUserNames(id === undefined ? [] : [Number(id)]);
  const users = useQuery(listQuery(adminListUsers, { page_size: String(MAX_RESULTS), q: search }));
  const found = (users.data?.data ?? []).map((user) => ({ value: String(user.id), label: user.username }));
  return (
    <SearchFilter
      filters={filters}
      name={name}
      label={label ?? t('user')}
      found={found}
      nameOf={nameOf}
      onSearch={setSearch}
    />
  );
}

/** Filters by organization, searched by name or short name; the URL stores the id. */
export function OrganizationFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation();
  const [search, setSearch] = useState<string>();
  const id = filters.value.organization_id;
  const nameOf = useUserNames(id === undefined ? [] : [Number(id)]);
  const organizations = useQuery(listQuery(adminListOrganizations, { page_size: String(MAX_RESULTS), q: search }));
  const found = (organizations.data?.data ?? []).map((each) => ({ value: String(each.id), label: each.name }));
  return (
    <SearchFilter
      filters={filters}
      name="organization_id"
      label={t('organization')}
      found={found}
      nameOf={nameOf}
      onSearch={setSearch}
    />
  );
}

interface SearchFilterProps extends FilterFieldProps {
  /** What the service found. */
  readonly found: readonly { readonly value: string; readonly label: string }[];
  /** Name of the selected entity, which may not be among them. */
  readonly nameOf: NameLookup;
  /** Called after a short pause; undefined: nothing is searched. */
  readonly onSearch: (text: string | undefined) => void;
}

function SearchFilter({ filters, name, label, found, nameOf, onSearch }: SearchFilterProps) {
  const { t } = useTranslation('list');
  const search = useDebouncedCallback((text: string) => onSearch(text === '' ? undefined : text), DEBOUNCE_MS);
  const id = filters.value[name];
  const selected = id === undefined ? [] : [{ value: id, label: nameOf(Number(id)) ?? `#${id}` }];
  return (
    <Select
      label={label}
      placeholder={t('any')}
      w={{ base: '100%', xs: 170 }}
      data={[...selected, ...found.filter(({ value }) => value !== id)]}
      // The service already filtered the options; e-mail addresses and short names are not in the labels, so
      // client-side filtering would drop matches.
      filter={({ options }) => options}
      value={id ?? null}
      onChange={(value) => filters.set(name, value ?? undefined)}
      onSearchChange={(text) => search(selected.some((each) => each.label === text) ? '' : text)}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': label, tabIndex: -1 }}
    />
  );
}

/** Filters by video, searched by prompt or task id; the URL stores the id. */
export function TaskFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const [search, setSearch] = useState('');
  const [debounced] = useDebouncedValue(search.trim(), DEBOUNCE_MS);
  const id = filters.value.task_id;
  const tasks = useQuery({
    ...listQuery(listTasks, { page_size: String(MAX_RESULTS), q: debounced === '' ? undefined : debounced }),
    placeholderData: keepPreviousData,
  });
  const selected = useQuery({
    ...listQuery(listTasks, { task_id: id, page_size: '1' }),
    enabled: id !== undefined,
    placeholderData: undefined,
  });
  const label = (taskId: string, prompt: string | undefined): string => (prompt || taskId).slice(0, MAX_LABEL_LENGTH);
  const choices = new Map((tasks.data?.data ?? []).map((task) => [task.task_id, label(task.task_id, task.prompt)]));
  if (id !== undefined) choices.set(id, label(id, selected.data?.data[0]?.prompt));
  return (
    <Select
      label={t('video')}
      placeholder={t('any')}
      w={{ base: '100%', xs: 220 }}
      data={[...choices].map(([value, text]) => ({ value, label: text }))}
      // The service already filtered the options, by prompts longer than the labels.
      filter={({ options }) => options}
      value={id ?? null}
      onChange={(value) => filters.set('task_id', value ?? undefined)}
      onSearchChange={(text) => setSearch(id !== undefined && text === choices.get(id) ? '' : text)}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('video'), tabIndex: -1 }}
    />
  );
}

const MAX_LABEL_LENGTH = 80;

/** Filters by channel, selected by name. */
export function ChannelFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const channels = useChannels();
  return (
    <ChoiceFilter
      filters={filters}
      name="channel_id"
      label={t('channel')}
      choices={withSelected(
        channels.map(({ id, name }) => ({ value: String(id), label: name })),
        filters.value.channel_id,
      )}
    />
  );
}

/** Filters by one of the user's API keys, selected by name. */
export function ApiKeyFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const keys = useQuery(apiKeysQuery(1));
  const choices = (keys.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  return (
    <ChoiceFilter
      filters={filters}
      name="token_id"
      label={t('apiKey')}
      choices={withSelected(choices, filters.value.token_id)}
    />
  );
}

/** Filters by a model the account can call; models that are no longer callable can still be selected by link. */
export function ModelFilter({ filters }: EntityFilterProps) {
  const { t } = useTranslation('list');
  const models = useQuery(usableModelsQuery);
  const choices = toModelOptions(models.data ?? []);
  return (
    <ChoiceFilter
      filters={filters}
      name="model"
      label={t('model')}
      width={190}
      choices={withSelected(choices, filters.value.model)}
    />
  );
}

/** Adds the value from the URL to the options, even if it is no longer offered. */
export const withSelected = (
  choices: readonly { readonly value: string; readonly label: string }[],
  selected: string | undefined,
) =>
  selected === undefined || choices.some(({ value }) => value === selected)
    ? choices
    : [{ value: selected, label: /^\d+$/.test(selected) ? `#${selected}` : selected }, ...choices];

const SavedViewsMenu = lazy(() => import('./saved-views-menu.tsx'));

/** Button that opens the saved views of a list. */
function SavedViewsButton({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('list');
  return (
    <LazyDropdownButton
      popup="dialog"
      button={
        <Button variant="default" leftSection={<IconBookmark size={16} />}>
          {t('views.title')}
        </Button>
      }
      dropdown={(button) => <SavedViewsMenu filters={filters} button={button} />}
    />
  );
}
