export const trunks = {
  'trunks.none': 'No call came from or went to a trunk in the last 24 hours.',
  'trunks.count': { one: 'One trunk used in the last 24 hours', other: '{n} trunks used in the last 24 hours' },
  'trunks.definition': 'Definition',
  'trunks.no_calls': 'No call used it in the last 24 hours.',
  'trunks.all_calls': 'All of its calls',
  'trunks.day_calls': { one: 'One call in the last 24 hours', other: '{n} calls in the last 24 hours' },
  'trunks.day': 'Attempts per hour, last 24 hours',
  'trunks.figures': 'Figures of the last 24 hours',
  'trunks.failures': 'Failures by code',
  'trunks.no_failures': 'None.',
};
