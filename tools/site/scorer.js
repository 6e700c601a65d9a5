// The order of what the search finds: pages to read come before pages of numbers, these before the interface, unless
// the words look like a name in the code; within each, a page or section called by the words comes first. Either
// spelling of a word is found, privatise and privatize.
const READ = /^(index|release|run|explore|notebooks\/.*)$/;
const LOOK_UP = /^(errata|report|data|measurements)$/;
const CODE = /[_.]|[a-z][A-Z]/;
var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    const words = new URLSearchParams(window.location.search).get("q") || "";
    if (CODE.test(words)) return score;
    const called = title.toLowerCase().includes(words.toLowerCase().trim()) ? 50 : 0;
    return score + called + (kind === "index" ? 0 : READ.test(page) ? 200 : LOOK_UP.test(page) ? 100 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

window.Stemmer = function () {
  const english = new EnglishStemmer();
  const known = (stem) => stem in Search._index.terms || stem in Search._index.titleterms;
  this.stemWord = (word) => {
    const spellings = [word, word.replace(/is(?=e|i|a)/g, "iz"), word.replace(/iz(?=e|i|a)/g, "is")];
    const stems = spellings.map((spelling) => english.stemWord(spelling));
    return stems.find(known) || stems[0];
  };
};
