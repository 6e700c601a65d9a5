// MathJax in the parts that are needed, with MathML for screen readers; the spoken version would take another 5 MB.
Object.assign(window.MathJax, {
  loader: { load: ["core", "input/tex", "output/chtml", "a11y/assistive-mml"] },
  output: { fontPath: "[mathjax]/font", displayOverflow: "scroll", scale: 0.95 },
  startup: {
    ready: () => {
      delete MathJax.config.options.menuOptions; // the last part sets options of a menu that is not loaded
      MathJax.startup.defaultReady();
      MathJax.startup.promise.then(() => {  // one that is wider than its page is scrolled with the keys too
        for (const wide of document.querySelectorAll("mjx-container[overflow=scroll]")) wide.tabIndex = 0;
      });
    },
  },
});
